import type { z } from 'zod';
import { EmailSink } from '../../../src/sinks/email/email.ts';
import { email } from '../../../src/sinks/email/email-type.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { someParts } from '../some-parts.ts';

/** The recipients of every lead of a test, unless it says otherwise. */
export const TO = 'sales@example.com';

/** Opens an email sink to a server, with options as they stand in the YAML. */
export function openEmail(
  server: string,
  parts: Partial<SinkParts> = {},
  options: Partial<z.input<typeof email.options>> = {},
): Sink {
  return new EmailSink(
    email.options.parse({ server, from: 'leads@example.com', ...options }),
    someParts(parts),
  );
}
