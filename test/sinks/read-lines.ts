import type { Arrived } from './contract.ts';

const KNOWN = ['Name', 'Phone', 'Email', 'Address', 'Service', 'Time'];

/** Returns the lead in the lines of a message, as a person reads it. Ignores lines without a label, such as a title. */
export function readLines(lines: string, source: string, id: string): Arrived {
  // A line that is not indented begins a value.
  const values = lines.split(/\n(?! {4})/).map((line) => {
    const [, label = '', value = ''] = /^([^\n]*?)[:?.] (.*)$/s.exec(line) ?? [];
    return [label, value.replaceAll('\n    ', '\n')] as const;
  });
  const shown = (label: string) => values.find(([name]) => name === label)?.[1] ?? '';
  return {
    source,
    id,
    client_name: shown('Name'),
    client_phone_number: shown('Phone'),
    client_address: shown('Address'),
    all_details_one_liner: '',
    // A person does not see the slug.
    answers: values
      .filter(([label]) => label !== '' && !KNOWN.includes(label) && !/^(New lead|Changed lead)/.test(label))
      .map(([label, answer]) => ({ question: `${label}?`, slug: answer, answer })),
  };
}
