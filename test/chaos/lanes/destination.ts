import type { Chance } from '../../simulation/chance.ts';
import { DESTINATIONS, type DestinationName } from '../../support/destinations/destinations.ts';
import { type Deed, lengthOf, oneOf, spells } from '../deed.ts';
import type { ChosenDestination } from '../parts.ts';

/** Draws the troubles of the run's destination and the changes of its mapping. */
export function drawDestination(
  chance: Chance,
  endMs: number,
  name: DestinationName,
): Deed<ChosenDestination>[] {
  const { troubles, fields } = DESTINATIONS[name];
  const spellsOfTrouble = spells(chance, endMs, [500, 4_000], [300, 1_500], [500, 5_000]);
  const trouble = spellsOfTrouble.flatMap((spell): Deed<ChosenDestination>[] => {
    const what = oneOf(chance, troubles);
    return [
      {
        atMs: spell.fromMs,
        text: `${name} ${what} for ${lengthOf(spell)}`,
        act: ({ destination }) => destination.misbehave(what),
      },
      {
        atMs: spell.toMs,
        text: `${name} takes everything`,
        act: ({ destination }) => destination.behave(),
      },
    ];
  });
  const mappings = spells(chance, endMs, [2_000, 8_000], [0, 0]).map(
    ({ fromMs: atMs }, index): Deed<ChosenDestination> => {
      const isPlain = chance.oneIn(3);
      return {
        atMs,
        text: `${name} gets ${isPlain ? 'leads as received' : `mapping ${index}`}`,
        act: ({ configuration }) =>
          configuration.change(name, { fields: isPlain ? undefined : fields(index) }),
      };
    },
  );
  return [...trouble, ...mappings].sort((one, other) => one.atMs - other.atMs);
}
