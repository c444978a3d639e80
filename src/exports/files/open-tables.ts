import type { LedgerTables, TablesPlace } from '../../ledger/contract/ledger-tables.ts';
import { LedgerExtract } from '../../ledger/extraction/extracting.ts';

/** Opens the tables of a ledger. Loads the driver of a server only if the ledger is on one. @throws LedgerError */
export async function openTables(place: TablesPlace): Promise<LedgerTables> {
  if (place.kind === 'file') return new LedgerExtract(place.file);
  const { PostgresExtract } = await import('../../ledger-postgres/extraction/postgres-extract.ts');
  return PostgresExtract.open(place);
}
