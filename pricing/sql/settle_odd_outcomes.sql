-- settle_odd_outcomes: outcomes found by metering/pairing.py (registered: odd_outcome) → outcome
-- grain: request_id, part
INSERT INTO outcome
SELECT
    request_id::UUID, part, disposition, reason, input_leg_id::UUID, output_leg_id::UUID, split_rule,
    tier_input_tokens, tier_output_tokens, flags, billing_at, key_hash
FROM odd_outcome
