/**
 * Converts an answer from the token endpoint to the form that openid-client reads (RFC 6749, sections 5.1 and 5.2). The service's API description
 * specifies neither the status of a token answer nor the form of an error, and services differ in both.
 */
export function toTokenResponse(status: number, received: Headers, text: string): Response {
  const answer = objectIn(text);
  if (answer === undefined) return new Response(text === '' ? null : text, { status, headers: received });
  const isRefusal = answer['access_token'] === undefined && typeof answer['error'] === 'string';
  const headers = new Headers(received);
  headers.set('content-type', 'application/json');
  if (isRefusal) headers.delete('www-authenticate'); // with it, openid-client ignores the body
  const isSuccess = status >= 200 && status < 300;
  return new Response(withoutUnused(answer), {
    status: !isSuccess ? status : isRefusal ? 400 : 200,
    headers,
  });
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined; // openid-client reports what is wrong with it
  }
}

/**
 * Returns the answer as JSON, without fields that openid-client would refuse: null or an empty string, which some services send for an
 * absent field, and an id_token, whose issuer is unknown. leadsync does not use the id_token.
 */
function withoutUnused(answer: Readonly<Record<string, unknown>>): string {
  const used = Object.entries(answer).filter(
    ([name, field]) => field !== null && field !== '' && name !== 'id_token',
  );
  return JSON.stringify(Object.fromEntries(used));
}
