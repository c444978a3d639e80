/** What is wrong with an expression, and where: character offsets from `start` to `end`. */
export interface ExpressionFault {
  readonly message: string;
  readonly hint: string;
  readonly start: number;
  readonly end: number;
}

/** One or more email addresses, with commas between them. */
const ADDRESS = /^[^\s"'()@,]+@[^\s"'()@,]+(, *[^\s"'()@,]+@[^\s"'()@,]+)*$/;

/** Plain words such as `New lead (web)`: no quotes, no calls, no dots inside names, and no operators that prose does not use. Allows apostrophes. */
const WORDS = /^(?!.*[\p{L}\p{N}_](\(|\.[\p{L}_]))[\p{L}\p{N}][\p{L}\p{N}_ '’!?.,:;&/+()-]*$/u;
const WEB_ADDRESS = /^https?:\/\/[^\s"']+$/;

/** `${…}` or `{{…}}`. Captures the text inside. */
const PLACEHOLDER = /\$\{\s*([^{}]*?)\s*\}|\{\{\s*([^{}]*?)\s*\}\}/;

/** Returns the fault of text that is not an expression at all: a constant, or a template for another program. Undefined for other text. */
export function otherSyntax(text: string, wanted: 'bool' | 'value'): ExpressionFault | undefined {
  const placeholder = PLACEHOLDER.exec(text);
  if (placeholder) return placeholderFault(placeholder, text, wanted);
  const written = text.trim();
  const fault = (kind: string) => ({
    start: 0,
    end: text.length,
    message: `this is ${kind}, not an expression`,
    hint: `for a constant, write { value: ${isPlain(written) ? written : JSON.stringify(written)} }`,
  });
  if (ADDRESS.test(text) || WEB_ADDRESS.test(text)) return fault('an address');
  return wanted === 'value' && WORDS.test(written) ? fault('text') : undefined;
}

/** Whether YAML reads the text unchanged if it is inside { } without quotes. */
function isPlain(text: string): boolean {
  return /^[\p{L}\p{N}_ .()!/-]+$/u.test(text) && !/^([\d.-]+|true|false|null)$/i.test(text);
}

function placeholderFault(found: RegExpExecArray, text: string, wanted: 'bool' | 'value'): ExpressionFault {
  const [written, one, other = ''] = found;
  const inside = one ?? other;
  const alone = `write ${inside} alone`;
  const joined = `${alone}, and join text with +: "Dear " + ${inside}`;
  const isOfEnvironment = /^[A-Z][A-Z0-9_]*(:.*)?$/.test(inside);
  return {
    start: found.index,
    end: found.index + written.length,
    message: `${one === undefined ? '{{ }}' : '${ }'} has no meaning in an expression`,
    hint: isOfEnvironment
      ? 'environment variables are not replaced here: write the value, in double quotes'
      : wanted === 'bool' || written === text.trim()
        ? alone
        : joined,
  };
}

/** What people write in place of the right CEL syntax, recognised by the characters at the fault or immediately before it. */
const OTHERWISE: readonly (readonly [written: RegExp, instead: string])[] = [
  [/[“”„‟«»]/, 'this is a typographic quote: type a straight one (")'],
  [/[‘’‚‛]/, "this is a typographic quote: type a straight one (')"],
  [/[\u00a0\u2000-\u200f\u202f\u2060\u3000\ufeff]/, 'this is an invisible character: type an ordinary blank'],
  [/^#/, 'for a constant, write { value: … }'],
  [/\bIN\b/, 'write the operator in lower case: x in ["a", "b"]'],
  [/\band\b/i, 'write && for "and"'],
  [/\bor\b/i, 'write || for "or"'],
  [/\bnot\b/i, 'write ! for "not", as in !(a in b)'],
  [/\b(contains|startsWith|endsWith)\b/, 'write it after the text: lead.client_name.contains("x")'],
  [/\b(is|eq|equals)\b/i, 'write == to compare, != for "not equal"'],
  [/===|=<|<>|(?<![=!<>])=(?!=)/, 'write == to compare, != for "not equal", <= for "at most"'],
  [/&/, 'write && for "and"'],
  [/\|/, 'write || for "or"'],
  [/\bif\b/, 'write condition ? a : b'],
  [/\?\./, 'write .? as in raw.?utm'],
];

/** The characters after a syntax fault in which to look for what people write. Never ends within an operator. */
const WHAT_FOLLOWS = /^.{0,9}[=<>&|]*/s;

/** Names of the tokens in messages from the CEL package. */
const TOKENS: Readonly<Record<string, string>> = {
  RBRACKET: ']',
  LBRACKET: '[',
  RPAREN: ')',
  LPAREN: '(',
  RBRACE: '}',
  COMMA: ',',
  COLON: ':',
  DOT: '.',
  GT: '>',
  LT: '<',
  IDENTIFIER: 'a name',
  STRING: 'text',
  NUMBER: 'a number',
};

/** Returns the fault for a syntax error at a character. `summary` is the CEL package's message. */
export function syntaxFault(summary: string, text: string, start: number): ExpressionFault {
  const before = /\W?[\w.]*\s*$/.exec(text.slice(0, start))?.[0] ?? '';
  const behind = text.slice(start);
  const here = before + (WHAT_FOLLOWS.exec(behind)?.[0] ?? '');
  const hint = OTHERWISE.find(([written]) => written.test(here))?.[1] ?? '';
  const at = { start, end: Math.min(start + 1, text.length) };
  if (/\bEOF\b/.test(summary)) return { ...at, message: endMessage(text), hint: '' };
  if (hint) return { ...at, message: 'this is not allowed here', hint };
  const [, expected, got] = /^Expected (\w+), got (\w+)/.exec(summary) ?? [];
  const message =
    expected && got
      ? `this is unexpected: ${TOKENS[expected] ?? expected} should be here, not ${TOKENS[got] ?? got}`
      : 'this is unexpected here';
  return { ...at, message, hint: 'is a quote, a bracket or an operator missing before it?' };
}

/** Returns the message for an expression that ends too early. Names the missing bracket, if one is open. */
function endMessage(text: string): string {
  const open: string[] = [];
  const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
  for (const [character] of text.replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, '').matchAll(/[()[\]{}]/g)) {
    const end = closing[character];
    if (end) open.push(end);
    else open.pop();
  }
  const missing = open.at(-1);
  return missing ? `a ${missing} is missing at the end` : 'the expression ends too early';
}
