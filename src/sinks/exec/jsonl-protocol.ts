import type { Delivery } from '../../leads/delivery.ts';
import { nestedJson } from '../../leads/mapped-fields.ts';
import { eventFields } from '../lead-event.ts';
import { withTextId } from './exact-ids.ts';
import type { ProgramProtocol, ProtocolForm } from './program-protocol.ts';

/** Line breaks between the values of a JSON text. Within its strings they are escapes. */
const LINE_BREAKS = /[\r\n]+/g;

/** Returns the protocol for a program that reads one JSON object per line: the fields of the mapping, or the event as a webhook gets it. */
export function jsonlProtocol(deliveries: readonly Delivery[], form: ProtocolForm): ProgramProtocol {
  return {
    *lines() {
      for (const delivery of deliveries) yield lineOf(delivery, form);
    },
    wants: undefined,
  };
}

function lineOf(delivery: Delivery, { ids, isTest }: ProtocolForm): string {
  if (delivery.fields) return nestedJson(delivery.fields);
  const raw = ids === 'string' ? withTextId(delivery.raw) : delivery.raw.replace(LINE_BREAKS, ' ');
  const event = eventFields(delivery, isTest ? { kind: 'test', raw } : { raw });
  return `{"id":${JSON.stringify(delivery.id)},${event}}`;
}
