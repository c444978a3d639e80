import type Database from 'better-sqlite3';
import { type ContentFacts, factsOf } from '../../leads/content-facts.ts';

/** Adds the SQL functions that migrations call but SQLite lacks. */
export function addFunctions(db: Database.Database): void {
  let last: { raw: string; facts: ContentFacts } | undefined;
  db.function('content_fact', { deterministic: true }, (name: keyof ContentFacts, raw: string) => {
    // A statement calls these functions for one text several times in succession, so the facts of the last text are kept.
    if (last?.raw !== raw) last = { raw, facts: factsOf(raw) };
    return last.facts[name];
  });
}
