import { ledgerContract } from './contract.ts';
import { sqliteStore } from './sqlite-store.ts';

ledgerContract('the ledger in SQLite', () => sqliteStore());
