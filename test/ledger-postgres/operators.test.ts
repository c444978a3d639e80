import { describe } from 'vitest';
import { backfillContract } from '../ledger/contract/backfill.ts';
import { clockSettingContract } from '../ledger/contract/clock-setting.ts';
import { controlContract } from '../ledger/contract/control.ts';
import { leftOutReplaysContract } from '../ledger/contract/left-out-replays.ts';
import { mappingContract } from '../ledger/contract/mapping.ts';
import { recallingContract } from '../ledger/contract/recalling.ts';
import { upcomingContract } from '../ledger/contract/upcoming.ts';
import { postgresStore } from './postgres-store.ts';

describe('operators and the ledger in PostgreSQL', () => {
  backfillContract(postgresStore);
  mappingContract(postgresStore);
  leftOutReplaysContract(postgresStore);
  controlContract(postgresStore);
  recallingContract(postgresStore);
  clockSettingContract(postgresStore);
  upcomingContract(postgresStore);
});
