import { describe } from 'vitest';
import { clockSettingContract } from '../ledger/contract/clock-setting.ts';
import { erasingContract } from '../ledger/contract/erasing.ts';
import { HOUR } from '../ledger/ledger-under-test.ts';
import { postgresStore } from './postgres-store.ts';

// Everywhere else, the machine's clock is an hour ahead. These are the parts of the contract that compare times which a machine could tell.
describe('the ledger in PostgreSQL of a machine whose clock is an hour behind that of the server', () => {
  const store = () => postgresStore(-HOUR);
  clockSettingContract(store);
  erasingContract(store);
});
