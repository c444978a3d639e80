/**
 * Returns a request as a shell command. The command prints the answer, and ends the script with curl's exit code if the request fails. `header` may
 * refer to a shell variable. The address and the body must not contain single quotes.
 */
export function curlCommand(address: string, header: string, body: object): string {
  const json = `-H 'Content-Type: application/json' '${address}' -d '${JSON.stringify(body)}'`;
  return `curl -sS --fail-with-body -w '\\n' -H "${header}" ${json} || exit\n`;
}
