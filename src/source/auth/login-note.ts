/**
 * Returns the content of the file that records a login. leadsync checks only that the file exists; the text is for an operator who opens
 * it.
 */
export function loginNote(source: string, at: Date): string {
  return `A person logged in to source ${source} at ${at.toISOString()} (\`leadsync login\`).
While this file exists, leadsync reads the source with a login's tokens and never with the client's own.
To use the client's own tokens, set \`grant: client_credentials\` for the source.
`;
}
