-- The tables of a registry in PostgreSQL, format 1. `perdure.storage.postgresql.schema` runs this in
-- a new schema. Texts that are compared have the collation "C", which orders them by code points.

CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);

-- The current revision of each record. `change` is the change that wrote it.
CREATE TABLE records (
  key text COLLATE "C" PRIMARY KEY, record text NOT NULL, change bigint
);
CREATE TABLE history (
  key text COLLATE "C" NOT NULL, revision integer NOT NULL, record text NOT NULL, change bigint,
  PRIMARY KEY (key, revision)
);
CREATE TABLE refers (
  hash bigint NOT NULL, key text COLLATE "C" NOT NULL, PRIMARY KEY (hash, key)
);
CREATE TABLE staged_refers (hash bigint NOT NULL, key text COLLATE "C" NOT NULL);

-- One row for each series and day. Its lock is all that nodes share when they mint.
CREATE TABLE days (day text COLLATE "C" PRIMARY KEY);

-- A transaction leaves its changes without epoch, number and chain; the sequencer adds these.
CREATE TABLE changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  act text NOT NULL, at text NOT NULL, actor text NOT NULL,
  first text COLLATE "C" NOT NULL, last text COLLATE "C" NOT NULL,
  records bigint NOT NULL, revision integer NOT NULL,
  digest bytea, salt bytea, leaf bytea,
  reason text, -- of the epoch that it begins
  epoch integer, number bigint, chain bytea,
  UNIQUE (epoch, number)
);
CREATE INDEX changes_to_number ON changes (id) WHERE number IS NULL;
CREATE TABLE epochs (
  epoch integer PRIMARY KEY, reason text NOT NULL,
  previous_epoch integer, previous_number bigint, previous_chain text
);

CREATE TABLE tokens (
  name text COLLATE "C" PRIMARY KEY, digest text COLLATE "C" NOT NULL UNIQUE, token text NOT NULL
);
CREATE TABLE token_changes (
  name text COLLATE "C" NOT NULL, number integer NOT NULL, at text NOT NULL, actor text NOT NULL,
  before text, after text NOT NULL, change bigint NOT NULL, PRIMARY KEY (name, number)
);
CREATE TABLE rules (number integer PRIMARY KEY, key text COLLATE "C" NOT NULL, rule text NOT NULL);
CREATE INDEX rules_of_key ON rules (key, number);
CREATE TABLE answered (
  actor text NOT NULL, once text NOT NULL, request text NOT NULL, receipt text NOT NULL,
  at text COLLATE "C" NOT NULL, PRIMARY KEY (actor, once)
);
CREATE INDEX answered_at ON answered (at);
CREATE TABLE segments (
  number integer PRIMARY KEY, length bigint NOT NULL, opened text NOT NULL, grows boolean NOT NULL
);

-- How many batches readers have to forget something for: one row for each writing session, modulo
-- 16, so that nodes do not wait for each other.
CREATE TABLE generation (stripe integer PRIMARY KEY, count bigint NOT NULL);
INSERT INTO generation SELECT stripe, 0 FROM generate_series(0, 15) AS stripe;

-- The last batch of each writing session. After a lost connection it tells whether it was stored.
CREATE TABLE nodes (
  node uuid PRIMARY KEY, batch bigint NOT NULL, host text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE FUNCTION note_batch(of uuid, following bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE nodes SET batch = following, at = now() WHERE node = of AND batch = following - 1;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'batch % of node % does not follow its last one', following, of
      USING ERRCODE = 'PD001';
  END IF;
END $$;

-- What was written stays
-- ----------------------

CREATE FUNCTION refuse_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are only added', TG_TABLE_NAME USING ERRCODE = 'PD002';
END $$;

-- An erasure, and a rebuild that places bytes anew, name the key in their own transaction.
CREATE FUNCTION is_rewritten(of text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(current_setting('perdure.rewritten', true), '') = of
$$;

CREATE FUNCTION hold_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.key <> OLD.key OR NOT is_rewritten(OLD.key) AND NOT EXISTS
      (SELECT 1 FROM history WHERE key = OLD.key AND record = OLD.record) THEN
    RAISE EXCEPTION 'a record is never changed without its history' USING ERRCODE = 'PD002';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION hold_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.key <> OLD.key OR NEW.revision <> OLD.revision OR NEW.change IS DISTINCT FROM OLD.change
      OR NOT is_rewritten(OLD.key) THEN
    RAISE EXCEPTION 'the history is only added to' USING ERRCODE = 'PD002';
  END IF;
  RETURN NEW;
END $$;

-- A number is given once. Of a change that has one, only the salt can be destroyed.
CREATE FUNCTION hold_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.number IS NULL THEN
    OLD.epoch := NEW.epoch; OLD.number := NEW.number; OLD.chain := NEW.chain;
    IF OLD.act = 'begin' THEN
      OLD.digest := NEW.digest; -- of an epoch, whose predecessor is known only now
    END IF;
  END IF;
  IF NEW.salt IS NULL THEN
    OLD.salt := NULL;
  END IF;
  IF NEW IS DISTINCT FROM OLD THEN
    RAISE EXCEPTION 'of a change, only the salt can be destroyed' USING ERRCODE = 'PD002';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER records_hold BEFORE UPDATE ON records FOR EACH ROW EXECUTE FUNCTION hold_record();
CREATE TRIGGER history_holds BEFORE UPDATE ON history FOR EACH ROW EXECUTE FUNCTION hold_history();
CREATE TRIGGER changes_hold BEFORE UPDATE ON changes FOR EACH ROW EXECUTE FUNCTION hold_change();
CREATE TRIGGER epochs_hold BEFORE UPDATE ON epochs FOR EACH ROW EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER token_changes_hold BEFORE UPDATE ON token_changes
  FOR EACH ROW EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER rules_hold BEFORE UPDATE ON rules FOR EACH ROW EXECUTE FUNCTION refuse_removal();
DO $$
DECLARE one text;
BEGIN
  FOREACH one IN ARRAY ARRAY['records', 'history', 'changes', 'epochs', 'token_changes', 'rules'] LOOP
    EXECUTE format('CREATE TRIGGER %I BEFORE DELETE OR TRUNCATE ON %I EXECUTE FUNCTION refuse_removal()',
                   one || '_stay', one);
    EXECUTE format('REVOKE DELETE, TRUNCATE ON %I FROM CURRENT_USER', one);
  END LOOP;
END $$;
