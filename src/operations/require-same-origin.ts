import { SourceError } from '../source/contract/source.ts';

/**
 * Requires that a source still has the address `known`, which its recorded leads come from; undefined if it has none yet. The leads of another
 * service would look like changes to the known leads with the same ids.
 * @throws SourceError `other-origin`
 */
export function requireSameOrigin(
  { name, origin }: { readonly name: string; readonly origin: string },
  known: string | undefined,
): void {
  if (known === undefined || origin === known) return;
  throw new SourceError(
    'other-origin',
    `In the ledger, the leads of source ${name} come from ${known}, but the source's base_url is now ${origin}.`,
    {
      hint: `If this is another service or account, give the source another name. If the same service has moved, confirm it with \`leadsync moved ${name}\`.`,
    },
  );
}
