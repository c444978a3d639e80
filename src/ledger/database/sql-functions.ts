import type Database from 'better-sqlite3';
import { type ContentFacts, factsOf } from '../../leads/content-facts.ts';

/** What migrations call and SQLite does not have. */
export function addFunctions(db: Database.Database): void {
  let last: { raw: string; facts: ContentFacts } | undefined;
  db.function('content_fact', { deterministic: true }, (name: keyof ContentFacts, raw: string) => {
    // Asked for one fact after another of the same text.
    if (last?.raw !== raw) last = { raw, facts: factsOf(raw) };
    return last.facts[name];
  });
}
