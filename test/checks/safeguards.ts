import { adminSafeguards } from './admin-safeguards.ts';
import { crmSafeguards } from './crm-safeguards.ts';
import { deliverySafeguards } from './delivery-safeguards.ts';
import { dutySafeguards } from './duty-safeguards.ts';
import { ledgerSafeguards } from './ledger-safeguards.ts';
import { operatingSafeguards } from './operating-safeguards.ts';
import { processSafeguards } from './process-safeguards.ts';
import { readingSafeguards } from './reading-safeguards.ts';
import { recoverySafeguards } from './recovery-safeguards.ts';
import type { Safeguard } from './safeguard.ts';
import { sinkSafeguards } from './sink-safeguards.ts';
import { storeSafeguards } from './store-safeguards.ts';

/** Every safeguard that `npm run test:checks` removes, one at a time. */
export const safeguards: readonly Safeguard[] = [
  ...readingSafeguards,
  ...ledgerSafeguards,
  ...dutySafeguards,
  ...deliverySafeguards,
  ...crmSafeguards,
  ...processSafeguards,
  ...adminSafeguards,
  ...operatingSafeguards,
  ...recoverySafeguards,
  ...storeSafeguards,
  ...sinkSafeguards,
];
