-- The usage store: what metering appends and what the settler derives from it.
-- Times are UTC without a zone (TIMESTAMP, microseconds); counts are BIGINT; ids of events are UUID.
-- Append-only: leg, node_sample, quarantine, node_watermark, request, and the roll-ups' delta rows.

CREATE TABLE leg (
    ingest_seq             BIGINT NOT NULL,      -- one writer, gap-free within the store, in commit order
    ingested_at            TIMESTAMP NOT NULL,
    sender                 VARCHAR NOT NULL,     -- credential that sent it; in a usage file: the tenant
    event_id               UUID NOT NULL,
    content_hash           UUID NOT NULL,        -- docs/wire.md
    key_hash               UBIGINT,              -- hash(pool, join_key or group_id); NULL: joins nothing
    stage                  VARCHAR NOT NULL,
    operation              VARCHAR,
    engine_request_id      VARCHAR,
    join_key               VARCHAR,
    client_request_id      VARCHAR,
    group_id               VARCHAR,
    group_size             BIGINT,
    node_id                VARCHAR,
    pool                   VARCHAR,
    instance_id            VARCHAR,
    engine                 VARCHAR,
    engine_version         VARCHAR,
    tenant_id              VARCHAR,
    project_id             VARCHAR,
    api_key_id             VARCHAR,
    labels                 MAP(VARCHAR, VARCHAR),
    model_id               VARCHAR NOT NULL,
    started_at             TIMESTAMP NOT NULL,
    finished_at            TIMESTAMP NOT NULL,
    input_tokens           BIGINT,
    cached_input_tokens    BIGINT,
    cached_explicit_tokens BIGINT,
    cached_by_tier         MAP(VARCHAR, BIGINT),
    cache_write_tokens     BIGINT,
    cache_write_1h_tokens  BIGINT,
    output_tokens          BIGINT,
    reasoning_tokens       BIGINT,
    input_by_class         MAP(VARCHAR, BIGINT),
    status                 VARCHAR NOT NULL,
    service_tier           VARCHAR,
    region                 VARCHAR,
    retractions            BIGINT,
    queue_seconds          DOUBLE,
    prefill_seconds        DOUBLE,
    ttft_seconds           DOUBLE,
    decode_seconds         DOUBLE,
    e2e_seconds            DOUBLE,
    kv_transfer_seconds    DOUBLE,
    source                 VARCHAR,
    source_position        VARCHAR
);

-- ids that a sender chose itself; the primary key finds a repeat that carries another time
CREATE TABLE foreign_id (
    event_id     UUID PRIMARY KEY,               -- metering.usage.foreign_event_id(sender, id)
    sender       VARCHAR NOT NULL,
    sender_id    VARCHAR NOT NULL,
    content_hash UUID NOT NULL
);

-- records that could not be read, conflicts and reattributions: kept, listed, fixable
CREATE TABLE quarantine (
    quarantine_id VARCHAR NOT NULL,              -- 32 hex digits of kind + record, so a resend lands once
    kind          VARCHAR NOT NULL,              -- rejected, conflict, reattributed
    received_at   TIMESTAMP NOT NULL,
    sender        VARCHAR NOT NULL,
    event_id      UUID,
    tenant_id     VARCHAR,
    node_id       VARCHAR,
    model_id      VARCHAR,
    field         VARCHAR,
    reason        VARCHAR NOT NULL,
    record        VARCHAR NOT NULL,              -- the record as it came, as JSON text, at most 64 KiB
    finished_at   TIMESTAMP                      -- where it could be read: the period it belongs to
);

-- what a person decided about a quarantined record
CREATE TABLE quarantine_decision (
    quarantine_id VARCHAR NOT NULL,
    decided_at    TIMESTAMP NOT NULL,
    decided_by    VARCHAR NOT NULL,
    decision      VARCHAR NOT NULL,              -- resubmitted, discarded, kept_first
    reason        VARCHAR NOT NULL
);

CREATE TABLE node_watermark (
    node_id      VARCHAR NOT NULL,
    stage        VARCHAR,
    pool         VARCHAR,
    watermark_at TIMESTAMP NOT NULL,             -- all lines written before it have been sent
    seen_at      TIMESTAMP NOT NULL
);

CREATE TABLE node_sample (
    ingested_at              TIMESTAMP NOT NULL,
    sampled_at               TIMESTAMP NOT NULL,
    node_id                  VARCHAR NOT NULL,
    source                   VARCHAR NOT NULL,
    stage                    VARCHAR,
    pool                     VARCHAR,
    model_id                 VARCHAR,
    running_requests         BIGINT,
    queued_requests          BIGINT,
    kv_usage_ratio           DOUBLE,
    gpu_utilization_ratio    DOUBLE,
    power_watts              DOUBLE,
    energy_joules            DOUBLE,
    device_count             BIGINT,
    counter_epoch            VARCHAR,
    counter_input_tokens     BIGINT,
    counter_cached_tokens    BIGINT,
    counter_output_tokens    BIGINT,
    counter_requests         BIGINT,
    counter_aborted_requests BIGINT
);

-- pricing's part: the settler owns every table below ------------------------------------------

CREATE TABLE progress (                          -- one row
    settled_through_seq BIGINT NOT NULL,         -- legs up to this ingest_seq are settled
    settle_seq          BIGINT NOT NULL,         -- batches written so far
    catalogue_id        VARCHAR,                 -- the price books by which all open requests are rated
    sampled_through_at  TIMESTAMP,               -- node samples folded up to here
    updated_at          TIMESTAMP NOT NULL
);
INSERT INTO progress VALUES (0, 0, NULL, NULL, TIMESTAMP '1970-01-01');

CREATE TABLE pending (                           -- halves that wait for the other one
    ingest_seq             BIGINT NOT NULL,
    event_id               UUID NOT NULL,
    content_hash           UUID NOT NULL,
    key_hash               UBIGINT,
    engine_request_id      VARCHAR,
    stage                  VARCHAR NOT NULL,
    operation              VARCHAR,
    join_key               VARCHAR,
    group_id               VARCHAR,
    group_size             BIGINT,
    node_id                VARCHAR,
    pool                   VARCHAR,
    tenant_id              VARCHAR,
    project_id             VARCHAR,
    api_key_id             VARCHAR,
    model_id               VARCHAR NOT NULL,
    started_at             TIMESTAMP NOT NULL,
    finished_at            TIMESTAMP NOT NULL,
    input_tokens           BIGINT,
    cached_input_tokens    BIGINT,
    cached_explicit_tokens BIGINT,
    cache_write_tokens     BIGINT,
    cache_write_1h_tokens  BIGINT,
    output_tokens          BIGINT,
    reasoning_tokens       BIGINT,
    status                 VARCHAR NOT NULL,
    service_tier           VARCHAR,
    region                 VARCHAR,
    retractions            BIGINT,
    arrived_at             TIMESTAMP NOT NULL,
    orphaned               BOOLEAN NOT NULL      -- time is up; kept because the other half may still come
);

CREATE TABLE price_key (                         -- immutable; id = 64 bits of the content
    price_key             BIGINT NOT NULL,
    currency              VARCHAR NOT NULL,
    book                  VARCHAR NOT NULL,
    book_revision         VARCHAR NOT NULL,
    entry                 VARCHAR NOT NULL,      -- model@effective_from, the line of the book that decided
    context_tier          VARCHAR,
    band                  VARCHAR,
    service_tier          VARCHAR,
    region                VARCHAR,
    contract              VARCHAR,
    input_price           DECIMAL(18, 9),        -- per million tokens; NULL: the book has no such price
    cached_price          DECIMAL(18, 9),
    cached_explicit_price DECIMAL(18, 9),
    cache_write_price     DECIMAL(18, 9),
    cache_write_1h_price  DECIMAL(18, 9),
    output_price          DECIMAL(18, 9),
    reasoning_price       DECIMAL(18, 9)
);

CREATE TABLE request (                           -- append-only; current truth = rows weighted by sign
    settle_seq             BIGINT NOT NULL,
    settled_at             TIMESTAMP NOT NULL,
    request_id             UUID NOT NULL,        -- event id of the leg that delivered the answer
    part                   INTEGER NOT NULL,     -- 0; samples of a group on further nodes: 1, 2, …
    revision               INTEGER NOT NULL,
    sign                   TINYINT NOT NULL,     -- +1, or -1 where a later revision reverses it
    cause                  VARCHAR NOT NULL,     -- settled, late_half, repriced, decided
    disposition            VARCHAR NOT NULL,     -- billed, unpriced, held, undelivered, expired, cost
    reason                 VARCHAR,              -- why not billed
    request_count          BIGINT NOT NULL,      -- 1 on part 0, else 0
    billing_at             TIMESTAMP NOT NULL,   -- the billing instant, fixed at the first revision
    finished_at            TIMESTAMP NOT NULL,
    tenant_id              VARCHAR,              -- NULL: unattributed
    project_id             VARCHAR,
    cost_centre_id         VARCHAR,
    api_key_id             VARCHAR,
    model_id               VARCHAR NOT NULL,
    operation              VARCHAR,
    service_tier           VARCHAR,
    region                 VARCHAR,
    pool                   VARCHAR,
    join_key               VARCHAR,
    key_hash               UBIGINT,
    input_node_id          VARCHAR,              -- earns the input lines
    output_node_id         VARCHAR,              -- earns the output lines
    input_stage            VARCHAR,              -- prefill or unified; decode where it is billed alone
    output_stage           VARCHAR,
    input_leg_id           UUID,
    output_leg_id          UUID,
    input_tokens           BIGINT,               -- total; NULL: unknown
    uncached_tokens        BIGINT NOT NULL,      -- the lines: disjoint, they may be added
    cached_tokens          BIGINT NOT NULL,
    cached_explicit_tokens BIGINT NOT NULL,
    cache_write_tokens     BIGINT NOT NULL,
    cache_write_1h_tokens  BIGINT NOT NULL,
    unsplit_tokens         BIGINT NOT NULL,      -- input whose cached part is unknown
    output_tokens          BIGINT NOT NULL,      -- without reasoning
    reasoning_tokens       BIGINT NOT NULL,
    output_known           BOOLEAN NOT NULL,
    price_key              BIGINT,               -- NULL: no price found
    flags                  BIGINT NOT NULL,      -- bits of pricing.flags
    adjusts_period         DATE,                 -- set where the period was closed: that closed month
    legs_hash              UUID NOT NULL,        -- 128 bits of SHA-256 over leg ids and content hashes
    digest_1               BIGINT NOT NULL,      -- SHA-256 over legs_hash, tokens and price key,
    digest_2               BIGINT NOT NULL,      -- as four 63-bit words
    digest_3               BIGINT NOT NULL,
    digest_4               BIGINT NOT NULL
);

CREATE TABLE usage_hourly (                      -- who pays; additive deltas
    bucket_at              TIMESTAMP NOT NULL,   -- UTC hour, or quarter hour for zones off the hour
    tenant_id              VARCHAR,
    project_id             VARCHAR,
    cost_centre_id         VARCHAR,
    model_id               VARCHAR NOT NULL,
    operation              VARCHAR,
    disposition            VARCHAR NOT NULL,
    reason                 VARCHAR,
    price_key              BIGINT,
    flags                  BIGINT NOT NULL,
    adjusts_period         DATE,
    settle_seq             BIGINT NOT NULL,      -- batch (after folding: the last batch folded in)
    requests               BIGINT NOT NULL,
    uncached_tokens        BIGINT NOT NULL,
    cached_tokens          BIGINT NOT NULL,
    cached_explicit_tokens BIGINT NOT NULL,
    cache_write_tokens     BIGINT NOT NULL,
    cache_write_1h_tokens  BIGINT NOT NULL,
    unsplit_tokens         BIGINT NOT NULL,
    output_tokens          BIGINT NOT NULL,
    reasoning_tokens       BIGINT NOT NULL,
    digest_1 HUGEINT NOT NULL, digest_2 HUGEINT NOT NULL, digest_3 HUGEINT NOT NULL, digest_4 HUGEINT NOT NULL
);

CREATE TABLE node_hourly (                       -- who earned it; additive deltas
    hour_start_at          TIMESTAMP NOT NULL,   -- UTC hour of the billing instant (lines), of the finish (work)
    node_id                VARCHAR,
    stage                  VARCHAR NOT NULL,
    pool                   VARCHAR,
    model_id               VARCHAR NOT NULL,
    disposition            VARCHAR NOT NULL,     -- as in request; 'work' for the engine columns
    reason                 VARCHAR,
    price_key              BIGINT,
    flags                  BIGINT NOT NULL,
    requests               BIGINT NOT NULL,      -- requests whose lines this node earned
    uncached_tokens        BIGINT NOT NULL,
    cached_tokens          BIGINT NOT NULL,
    cached_explicit_tokens BIGINT NOT NULL,
    cache_write_tokens     BIGINT NOT NULL,
    cache_write_1h_tokens  BIGINT NOT NULL,
    unsplit_tokens         BIGINT NOT NULL,
    output_tokens          BIGINT NOT NULL,
    reasoning_tokens       BIGINT NOT NULL,
    work_legs              BIGINT NOT NULL,      -- all legs of the node by finish, as the engine counted
    work_input_tokens      BIGINT NOT NULL,
    work_cached_tokens     BIGINT NOT NULL,
    work_output_tokens     BIGINT NOT NULL,
    queue_seconds          DOUBLE NOT NULL,
    prefill_seconds        DOUBLE NOT NULL,
    decode_seconds         DOUBLE NOT NULL
);

CREATE TABLE node_sample_hourly (
    hour_start_at              TIMESTAMP NOT NULL,
    node_id                    VARCHAR NOT NULL,
    source                     VARCHAR NOT NULL,
    stage                      VARCHAR,
    pool                       VARCHAR,
    samples                    BIGINT NOT NULL,
    running_requests_sum       DOUBLE, running_requests_max BIGINT,
    queued_requests_sum        DOUBLE, queued_requests_max BIGINT,
    kv_usage_ratio_sum         DOUBLE, kv_usage_ratio_max DOUBLE,
    gpu_utilization_ratio_sum  DOUBLE, gpu_utilization_ratio_max DOUBLE,
    power_watts_sum            DOUBLE, power_watts_max DOUBLE,
    energy_joules              DOUBLE,           -- from the counter, else power integrated over time
    restarts                   BIGINT NOT NULL,
    input_tokens_delta         BIGINT,           -- NULL: the engine gave no counter
    cached_tokens_delta        BIGINT,
    output_tokens_delta        BIGINT,
    requests_delta             BIGINT,
    aborted_requests_delta     BIGINT
);

CREATE TABLE latency_hourly (                    -- log-spaced buckets, mergeable by adding
    hour_start_at TIMESTAMP NOT NULL,
    model_id      VARCHAR NOT NULL,
    pool          VARCHAR,
    node_id       VARCHAR,
    measure       VARCHAR NOT NULL,              -- ttft, tpot, e2e, queue
    bucket        INTEGER NOT NULL,              -- upper bound 2^(bucket/8) ms
    requests      BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL
);

CREATE TABLE node_tenant_daily (
    day        DATE NOT NULL,                    -- UTC day of the finish
    node_id    VARCHAR,
    stage      VARCHAR NOT NULL,
    tenant_id  VARCHAR,
    project_id VARCHAR,
    model_id   VARCHAR NOT NULL,
    legs       BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    queue_seconds DOUBLE NOT NULL,
    prefill_seconds DOUBLE NOT NULL,
    decode_seconds DOUBLE NOT NULL
);

CREATE TABLE node_shape_daily (
    day             DATE NOT NULL,
    node_id         VARCHAR,
    model_id        VARCHAR NOT NULL,
    input_class     INTEGER NOT NULL,            -- floor(log2(input tokens)); -1: 0 or unknown
    cached_class    INTEGER NOT NULL,
    legs            BIGINT NOT NULL,
    input_tokens    BIGINT NOT NULL,
    cached_tokens   BIGINT NOT NULL,
    prefill_seconds DOUBLE NOT NULL
);

-- exact money of a token count: DECIMAL(38, 15); a line without tokens needs no price, and tokens
-- without a price are unknown money, not 0
CREATE MACRO charge(tokens, price) AS
    CASE WHEN tokens = 0 THEN 0::DECIMAL(38, 15)
         ELSE tokens::BIGINT * price * 0.000001::DECIMAL(7, 6) END;

-- rows with their money, in the currency of their price key: what is owed where disposition = 'billed',
-- else what is at stake (plus unsplit_amount_min … unsplit_amount_max)
CREATE VIEW usage_money AS
SELECT
    *,
    input_amount + cached_amount + cache_write_amount + output_amount + reasoning_amount AS amount
FROM (
    SELECT
        u.*,
        k.currency, k.book, k.entry, k.context_tier, k.band,
        charge(u.uncached_tokens, k.input_price)                   AS input_amount,
        charge(u.cached_tokens, k.cached_price)
          + charge(u.cached_explicit_tokens, k.cached_explicit_price) AS cached_amount,
        charge(u.cache_write_tokens, k.cache_write_price)
          + charge(u.cache_write_1h_tokens, k.cache_write_1h_price)   AS cache_write_amount,
        charge(u.output_tokens, k.output_price)                    AS output_amount,
        charge(u.reasoning_tokens, k.reasoning_price)              AS reasoning_amount,
        charge(u.unsplit_tokens, least(k.input_price, k.cached_price))    AS unsplit_amount_min,
        charge(u.unsplit_tokens, greatest(k.input_price, k.cached_price)) AS unsplit_amount_max
    FROM usage_hourly AS u
    LEFT JOIN price_key AS k ON k.price_key = u.price_key
);

CREATE VIEW node_money AS
SELECT
    *,
    input_amount + cached_amount + cache_write_amount + output_amount + reasoning_amount AS amount
FROM (
    SELECT
        n.*,
        k.currency, k.book, k.entry, k.context_tier, k.band,
        charge(n.uncached_tokens, k.input_price)                   AS input_amount,
        charge(n.cached_tokens, k.cached_price)
          + charge(n.cached_explicit_tokens, k.cached_explicit_price) AS cached_amount,
        charge(n.cache_write_tokens, k.cache_write_price)
          + charge(n.cache_write_1h_tokens, k.cache_write_1h_price)   AS cache_write_amount,
        charge(n.output_tokens, k.output_price)                    AS output_amount,
        charge(n.reasoning_tokens, k.reasoning_price)              AS reasoning_amount,
        charge(n.unsplit_tokens, least(k.input_price, k.cached_price))    AS unsplit_amount_min,
        charge(n.unsplit_tokens, greatest(k.input_price, k.cached_price)) AS unsplit_amount_max
    FROM node_hourly AS n
    LEFT JOIN price_key AS k ON k.price_key = n.price_key
);

CREATE VIEW request_money AS
SELECT
    *,
    input_amount + cached_amount + cache_write_amount + output_amount + reasoning_amount AS amount
FROM (
    SELECT
        r.*,
        k.currency, k.book, k.entry, k.context_tier, k.band,
        charge(r.uncached_tokens, k.input_price)                   AS input_amount,
        charge(r.cached_tokens, k.cached_price)
          + charge(r.cached_explicit_tokens, k.cached_explicit_price) AS cached_amount,
        charge(r.cache_write_tokens, k.cache_write_price)
          + charge(r.cache_write_1h_tokens, k.cache_write_1h_price)   AS cache_write_amount,
        charge(r.output_tokens, k.output_price)                    AS output_amount,
        charge(r.reasoning_tokens, k.reasoning_price)              AS reasoning_amount,
        charge(r.unsplit_tokens, least(k.input_price, k.cached_price))    AS unsplit_amount_min,
        charge(r.unsplit_tokens, greatest(k.input_price, k.cached_price)) AS unsplit_amount_max
    FROM request AS r
    LEFT JOIN price_key AS k ON k.price_key = r.price_key
);
