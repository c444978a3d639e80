import { describe } from 'vitest';
import { alertQueriesContract } from './contract/alert-queries.ts';
import { backfillContract } from './contract/backfill.ts';
import { beginningTogetherContract } from './contract/beginning-together.ts';
import { blocksContract } from './contract/blocks.ts';
import { changeFeedContract } from './contract/change-feed.ts';
import { claimingContract } from './contract/claiming.ts';
import { clientKeysContract } from './contract/client-keys.ts';
import { clockSettingContract } from './contract/clock-setting.ts';
import { comparingContract } from './contract/comparing.ts';
import { controlContract } from './contract/control.ts';
import { declaringContract } from './contract/declaring.ts';
import { erasingContract } from './contract/erasing.ts';
import { externalWritesContract } from './contract/external-writes.ts';
import { findingContract } from './contract/finding.ts';
import { leftOutReplaysContract } from './contract/left-out-replays.ts';
import { mappingContract } from './contract/mapping.ts';
import { newestContentContract } from './contract/newest-content.ts';
import { recallingContract } from './contract/recalling.ts';
import { recordingContract } from './contract/recording.ts';
import { rejectedContract } from './contract/rejected.ts';
import { retainingContract } from './contract/retaining.ts';
import { settlingTogetherContract } from './contract/settling-together.ts';
import { sinkActivityContract } from './contract/sink-activity.ts';
import { speedToLeadContract } from './contract/speed-to-lead.ts';
import { twoSourcesContract } from './contract/two-sources.ts';
import { upcomingContract } from './contract/upcoming.ts';
import { webhookIdsContract } from './contract/webhook-ids.ts';
import type { OpenLedger } from './ledger-under-test.ts';

/**
 * Registers the tests of what every ledger promises, whatever its implementation. `store` creates an empty store that ends with the running
 * test, and returns a function that opens it. Opening it twice does what a second process would do.
 */
export function ledgerContract(name: string, store: () => OpenLedger): void {
  describe(name, () => {
    recordingContract(store);
    blocksContract(store);
    declaringContract(store);
    backfillContract(store);
    newestContentContract(store);
    mappingContract(store);
    leftOutReplaysContract(store);
    claimingContract(store);
    beginningTogetherContract(store);
    controlContract(store);
    recallingContract(store);
    clockSettingContract(store);
    erasingContract(store);
    findingContract(store);
    rejectedContract(store);
    retainingContract(store);
    clientKeysContract(store);
    twoSourcesContract(store);
    upcomingContract(store);
    comparingContract(store);
    changeFeedContract(store);
    alertQueriesContract(store);
    speedToLeadContract(store);
    settlingTogetherContract(store);
    sinkActivityContract(store);
    webhookIdsContract(store);
    externalWritesContract(store);
  });
}
