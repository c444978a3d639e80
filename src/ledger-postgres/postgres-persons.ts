import type { ErasureCounts } from '../leads/person.ts';
import type { LedgerPersons } from '../ledger/contract/ledger-persons.ts';
import { sumOf } from '../ledger/rules/privacy/erasure-progress.ts';
import { type Chunk, personOf } from '../ledger/rules/privacy/person-rows.ts';
import type { PostgresAccess } from './database/postgres-access.ts';
import type { Transaction } from './database/transaction.ts';
import * as erasing from './privacy/erasing.ts';
import { personNamed, searchLeads, searchRejected } from './privacy/person-search.ts';
import { subjectRows } from './privacy/subject-rows.ts';

/** Returns the implementation of `LedgerPersons` in PostgreSQL. */
export function personsOf(access: PostgresAccess) {
  const allOf = async <T>(part: (tx: Transaction, after: number) => Promise<Chunk<T>>): Promise<T[]> => {
    const all: T[] = [];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const from: number = after;
      const { found, next } = await access.ask((tx) => part(tx, from));
      all.push(...found);
      after = next;
    }
    return all;
  };

  return {
    findPerson: async (subject, source) => {
      if (subject.kind === 'lead') return access.ask((tx) => personNamed(tx, subject.lead, source));
      const leads = await allOf((tx, after) => searchLeads(tx, subject, source, after));
      const rejected = await allOf((tx, after) => searchRejected(tx, subject, source, after));
      return personOf(leads, rejected);
    },
    personRecord: (person) => access.ask((tx) => subjectRows(tx, person)),
    erase: async (person, notifySinks) => {
      const rejected = await access.owe((tx) => erasing.beginErasure(tx, person));
      const parts: ErasureCounts[] = [];
      for (const lead of person.leads)
        parts.push(await access.owe((tx) => erasing.eraseLead(tx, lead, notifySinks)));
      return sumOf(parts, rejected);
    },
    sinkErasures: (leads) => access.ask((tx) => erasing.progress(tx, leads)),
    formerDestinations: (leads) => access.ask((tx) => erasing.formerDestinations(tx, leads)),
    unfinishedErasures: () => access.ask(erasing.unfinished),
    erasedLeads: () => access.ask(erasing.erasedLeads),
    finishErasing: (leads) => access.write((tx) => erasing.finishErasing(tx, leads)),
  } satisfies LedgerPersons;
}
