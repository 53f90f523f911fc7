-- Takes back 0001_usage_up.sql: everything it made, in the opposite order, with every row.

DROP VIEW request_money;
DROP VIEW node_money;
DROP VIEW usage_money;
DROP MACRO charge;
DROP TABLE node_shape_daily;
DROP TABLE node_tenant_daily;
DROP TABLE latency_hourly;
DROP TABLE node_sample_hourly;
DROP TABLE node_hourly;
DROP TABLE usage_hourly;
DROP TABLE request;
DROP TABLE price_key;
DROP TABLE pending;
DROP TABLE progress;
DROP TABLE node_sample;
DROP TABLE node_watermark;
DROP TABLE quarantine_decision;
DROP TABLE quarantine;
DROP TABLE foreign_id;
DROP TABLE leg;
