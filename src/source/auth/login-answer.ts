/** The query parameters that leadsync reads from the redirect at the end of a login (RFC 6749, sections 4.1.2 and 4.1.2.1). */
const FIELDS = ['state', 'code', 'error'] as const;

/**
 * Returns the parameters of the service's answer to a login, each with one value; undefined if the address has neither a code nor an
 * error. Ignores all other parameters: leadsync does not know the service's issuer, so it cannot check `iss`.
 */
export function loginAnswerIn(address: URL): URLSearchParams | undefined {
  const fields = FIELDS.flatMap((name) => {
    const value = address.searchParams.get(name);
    return value ? [[name, value]] : [];
  });
  const answer = new URLSearchParams(fields);
  return answer.has('code') || answer.has('error') ? answer : undefined;
}
