import { describe } from 'vitest';
import { erasingContract } from '../ledger/contract/erasing.ts';
import { retainingContract } from '../ledger/contract/retaining.ts';
import { postgresStore } from './postgres-store.ts';

describe('persons and the ledger in PostgreSQL', () => {
  erasingContract(postgresStore);
  retainingContract(postgresStore);
});
