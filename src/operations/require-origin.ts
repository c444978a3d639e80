import { SourceError } from '../source/contract/source.ts';

/**
 * Refuses to read a source whose leads come from another address: the leads of another service would be taken for changes of
 * those that are known under the same ids. `kept` is where they come from; undefined: the source has none yet.
 * @throws SourceError `other-origin`
 */
export function requireOrigin(
  { name, origin }: { readonly name: string; readonly origin: string },
  known: string | undefined,
): void {
  if (known === undefined || origin === known) return;
  throw new SourceError(
    'other-origin',
    `The ledger's leads of source ${name} are those of ${known}, and it now names ${origin}.`,
    {
      hint: `If that is another service or account, give the source another name. If the same service has moved, \`leadsync moved ${name}\` says so.`,
    },
  );
}
