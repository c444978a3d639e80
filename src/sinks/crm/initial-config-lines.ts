/**
 * Returns the last lines of a CRM's entry in a first configuration. `region` is the country of phone numbers without a country code; without it, the
 * line of `region` is a comment.
 */
export function initialConfigLines(region: string | undefined): string {
  const line = `${region === undefined ? '# ' : ''}region: ${region ?? 'AU'}`.padEnd(33);
  return `    backfill: false                  # no records of the leads that were listed before
    ${line}# the country of phone numbers without a country code
`;
}
