-- fold_samples_span: from where samples wait to be folded
-- why an hour of grace: a sidecar's spool may bring samples of an hour after the hour is over
SELECT coalesce((SELECT sampled_through_at FROM progress),
                (SELECT date_trunc('hour', min(sampled_at)) FROM node_sample))
