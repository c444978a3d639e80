import { sourceOptions } from '../../source/contract/options.ts';
import { pollOptions } from './poll-options.ts';

/** The schema of an entry in `sources`: the source's own options, and its poll schedule. */
export const sourceEntry = sourceOptions.safeExtend({
  poll: pollOptions.prefault({}).describe('When to poll.'),
});
