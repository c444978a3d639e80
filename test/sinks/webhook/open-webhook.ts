import type { z } from 'zod';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { WebhookSink } from '../../../src/sinks/webhook/webhook.ts';
import { webhook } from '../../../src/sinks/webhook/webhook-type.ts';
import { someParts } from '../some-parts.ts';

/** Opens a webhook sink from options as they stand in the YAML. */
export function openWebhook(options: z.input<typeof webhook.options>, parts: Partial<SinkParts> = {}): Sink {
  return new WebhookSink(webhook.options.parse(options), someParts(parts));
}
