/** A migration that adds the processes that work on the ledger, and the duties among them. Each beat of a process reads both tables. */
export const machineTables = `
  CREATE TABLE _processes (
    holder text PRIMARY KEY,                -- drawn at each start
    machine text NOT NULL,
    role text NOT NULL,
    wants text NOT NULL,                    -- the duties that it would take, as JSON
    reluctant text NOT NULL,                -- those of them for which it stands behind the others, as JSON
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
  CREATE TABLE _duty_leases (
    duty text PRIMARY KEY,
    holder text,                            -- null: given up
    token text NOT NULL,                    -- drawn whenever the duty is taken: a ledger that was set back issues numbers again, but not tokens
    renewals bigint NOT NULL DEFAULT 0,     -- since it was taken
    since bigint NOT NULL,                  -- when it was taken
    held_until bigint NOT NULL              -- when the lease ends; when it was given up, if it was
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
`;

/** A migration that adds the sinks to which each process dispatches, and those whose folder is only on its machine, as JSON. */
export const sinksOfProcesses = `
  ALTER TABLE _processes ADD COLUMN sinks text NOT NULL DEFAULT '[]', ADD COLUMN folders text NOT NULL DEFAULT '[]';
`;

/** A migration that removes the lock under which one process worked on a ledger. */
export const withoutRunLock = 'DROP TABLE IF EXISTS _duties;';

/** A migration that adds what each process shows to people, and the processes that ended without a word. */
export const factsOfProcesses = `
  ALTER TABLE _processes ADD COLUMN facts text NOT NULL DEFAULT 'null';   -- as JSON
  CREATE TABLE _missing_processes (
    holder text PRIMARY KEY,
    machine text NOT NULL,
    role text NOT NULL,
    sinks text NOT NULL,
    facts text NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL                 -- when it was last seen
  );
`;
