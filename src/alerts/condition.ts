import { type AlertCode, PROBLEM_CODES, PROBLEMS } from '../leads/problems.ts';

/** A problem that alerts report. The configuration's `alerts.when` has the same names. */
export type Condition = AlertCode;

/** Every condition. */
export const CONDITIONS = PROBLEM_CODES.filter((code): code is Condition => PROBLEMS[code].alert);

/** Minimum duration or limit of each condition, in ms; undefined if it is switched off. */
export type Limits = Readonly<Record<Condition, number | undefined>>;
