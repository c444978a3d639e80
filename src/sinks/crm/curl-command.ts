/**
 * Returns a request as a command for a shell, which ends the script with curl's exit code if the answer is no success, and prints the answer. `header`
 * may refer to a variable of the shell. Neither the address nor the body has a quote.
 */
export function curlCommand(address: string, header: string, body: object): string {
  const json = `-H 'Content-Type: application/json' '${address}' -d '${JSON.stringify(body)}'`;
  return `curl -sS --fail-with-body -w '\\n' -H "${header}" ${json} || exit\n`;
}
