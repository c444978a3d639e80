import { describe } from 'vitest';
import { clientKeysContract } from '../ledger/contract/client-keys.ts';
import { erasingContract } from '../ledger/contract/erasing.ts';
import { retainingContract } from '../ledger/contract/retaining.ts';
import { postgresStore } from './postgres-store.ts';

describe('persons and the ledger in PostgreSQL', () => {
  erasingContract(postgresStore);
  retainingContract(postgresStore);
  clientKeysContract(postgresStore);
});
