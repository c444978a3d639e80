import type Database from 'better-sqlite3';
import { type ContentFacts, factsOf } from '../../leads/content-facts.ts';

/** Adds the SQL function `content_fact(name, raw)`, which migrations call. */
export function addFunctions(db: Database.Database): void {
  let last: { raw: string; facts: ContentFacts } | undefined;
  db.function('content_fact', { deterministic: true }, (name: keyof ContentFacts, raw: string) => {
    // A statement calls the function several times in succession with the same text, so the facts of the last text are cached.
    if (last?.raw !== raw) last = { raw, facts: factsOf(raw) };
    return last.facts[name];
  });
}
