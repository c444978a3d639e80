import { describe } from 'vitest';
import { claimingContract } from '../ledger/contract/claiming.ts';
import { declaringContract } from '../ledger/contract/declaring.ts';
import { newestContentContract } from '../ledger/contract/newest-content.ts';
import { recordingContract } from '../ledger/contract/recording.ts';
import { twoSourcesContract } from '../ledger/contract/two-sources.ts';
import { postgresStore } from './postgres-store.ts';

// Other parts are in files of their own.
describe('the ledger in PostgreSQL', () => {
  recordingContract(postgresStore);
  declaringContract(postgresStore);
  newestContentContract(postgresStore);
  claimingContract(postgresStore);
  twoSourcesContract(postgresStore);
});
