import type { Chance } from '../../simulation/chance.ts';
import type { Answer } from '../../support/servers/storage-server.ts';
import { type Deed, lengthOf, oneOf, spells } from '../deed.ts';
import type { WatchedStorage } from '../watched-storage.ts';

const SLOW_DOWN: Answer = [503, '<Error><Code>SlowDown</Code></Error>'];
const TROUBLES = [
  ['asks for fewer requests', SLOW_DOWN],
  ['stores files and breaks the connection', 'done and cut'],
  ['stores files and breaks the connection', 'done and cut'],
  ['breaks the connection', 'cut'],
  ['never answers', 'silence'],
] as const;

/** Draws the troubles of the bucket: of some requests or of all, for a while. */
export function drawBucket(chance: Chance, endMs: number): Deed<WatchedStorage>[] {
  return spells(chance, endMs, [1_000, 5_000], [300, 3_000]).flatMap((spell) => {
    const [text, answer] = oneOf(chance, TROUBLES);
    const oneIn = chance.between(1, 3);
    let requests = 0;
    const answers = () => {
      requests += 1;
      return requests % oneIn === 0 ? answer : undefined;
    };
    return [
      {
        atMs: spell.fromMs,
        text: `${text} for ${lengthOf(spell)}, one time in ${oneIn}`,
        act: (storage) => storage.answerAlways(answers),
      },
      { atMs: spell.toMs, text: 'takes everything', act: (storage) => storage.takeAll() },
    ];
  });
}
