import { describe, expect, test } from 'vitest';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { faultsOf, SOURCE } from '../../config/reading.ts';

const withField = (name: string, object = 'deal') =>
  `${SOURCE}sinks:\n  crm:\n    type: hubspot\n    token: pat-1\n    object: ${object}\n    fields:\n      ${name}: lead.key\n`;

describe('a name in `fields` of a hubspot sink', () => {
  test.each(['email', 'hs_lead_status', 'deal.amount', 'deal.leadsync_budget'])('can be %s', (name) => {
    expect(faultsOf(withField(name), {}, sinkTypes)).toEqual([]);
  });

  test.each([
    ['contact.email', 'is not a property: a property of the contact has no prefix, `email`'],
    ['deals.amount', 'is not a property: a property of the deal is written `deal.amount`'],
    [
      'company.name',
      'is not a property: write a property of the contact as it is, and one of the deal or lead as `deal.NAME` or `lead.NAME`',
    ],
    ['deal.amount.net', 'is not a property: a name has at most one dot, as in `deal.amount`'],
    [
      'Email',
      "is not a property: HubSpot's internal names consist of lower-case letters, digits and _, as `leadsync fields` lists them",
    ],
    ['leadsync_key', 'is a property that leadsync writes itself'],
    ['deal.leadsync_url', 'is a property that leadsync writes itself'],
  ])('cannot be %s, and the error has the right form', (name, fault) => {
    expect(faultsOf(withField(name), {}, sinkTypes)).toEqual([
      `12:7: sinks.crm.fields: \`${name}\` ${fault}; use another name`,
    ]);
  });

  test.each([
    ['deal', 'lead.amount', 'a lead'],
    ['lead', 'deal.amount', 'a deal'],
    ['none', 'deal.amount', 'a deal'],
  ])('with `object: %s` cannot be %s', (object, name, of) => {
    expect(faultsOf(withField(name, object), {}, sinkTypes)).toEqual([
      `12:7: sinks.crm.fields: \`${name}\` is a property of ${of}, and the sink's \`object\` is \`${object}\`; use another name`,
    ]);
    expect(faultsOf(withField(name, name.slice(0, 4)), {}, sinkTypes)).toEqual([]);
  });
});
