-- forget_samples: removes raw samples that are old and folded into hours; returns how many
-- grain:   row of node_sample
-- window:  sampled_at before $before_at, and before the end of what is folded
DELETE FROM node_sample
WHERE sampled_at < $before_at
  AND sampled_at < (SELECT max(sampled_through_at) FROM progress)  -- NULL: nothing is folded yet
