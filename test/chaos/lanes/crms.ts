import type { Chance } from '../../simulation/chance.ts';
import type { CrmName, Crms } from '../crms/crms.ts';
import { TROUBLES as OF_HUBSPOT } from '../crms/hubspot.ts';
import { TROUBLES as OF_PIPEDRIVE } from '../crms/pipedrive.ts';
import { TROUBLES as OF_SALESFORCE } from '../crms/salesforce.ts';
import { type Deed, lengthOf, oneOf, spells } from '../deed.ts';

const TROUBLES: Readonly<Record<CrmName, readonly string[]>> = {
  hubspot: Object.keys(OF_HUBSPOT),
  salesforce: Object.keys(OF_SALESFORCE),
  pipedrive: Object.keys(OF_PIPEDRIVE),
};

/** Draws the troubles of the CRMs and the changes of their mappings. */
export function drawCrms(chance: Chance, endMs: number, names: readonly CrmName[]): Deed<Crms>[] {
  const troubles = spells(chance, endMs, [300, 3_000], [300, 1_500], [300, 4_000]).flatMap((spell) => {
    const sink = oneOf(chance, names);
    const trouble = oneOf(chance, TROUBLES[sink]);
    return [
      {
        atMs: spell.fromMs,
        text: `${sink} ${trouble} for ${lengthOf(spell)}`,
        act: (crms: Crms) => crms.misbehave(sink, trouble),
      },
      { atMs: spell.toMs, text: 'take everything', act: (crms: Crms) => crms.takeAll() },
    ];
  });
  const mappings = spells(chance, endMs, [1_000, 6_000], [0, 0]).map(({ fromMs: atMs }, index) => {
    const sink = oneOf(chance, names);
    return { atMs, text: `${sink} gets mapping ${index}`, act: (crms: Crms) => crms.map(sink, index) };
  });
  return [...troubles, ...mappings].sort((one, other) => one.atMs - other.atMs);
}
