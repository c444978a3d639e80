import { sourceOptions } from '../../source/contract/options.ts';
import { pollOptions } from './poll-options.ts';

/** A source as it is written: its own options, and when it is polled. */
export const sourceEntry = sourceOptions.safeExtend({
  poll: pollOptions.prefault({}).describe('When the listing is read.'),
});
