import type { z } from 'zod';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { SlackSink } from '../../../src/sinks/slack/slack.ts';
import { slack } from '../../../src/sinks/slack/slack-type.ts';
import { someParts } from '../some-parts.ts';

/** The channel of every lead of a test, unless it says otherwise. */
export const CHANNEL = 'C0123PLUMB';

/** Opens a slack sink from options as they stand in the YAML. */
export function openSlack(options: z.input<typeof slack.options>, parts: Partial<SinkParts> = {}): Sink {
  return new SlackSink(slack.options.parse(options), someParts(parts));
}
