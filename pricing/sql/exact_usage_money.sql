-- exact_usage_money: exact_usage with its money → temp view
-- grain:  row of exact_usage
-- units:  tokens; amounts exact, in `currency`
CREATE OR REPLACE TEMP VIEW exact_usage_money AS
FROM priced('exact_usage')
