import { InProcessCarrier } from '../../src/delivery/in-process-carrier.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { carrierContract } from './carrier-contract.ts';

carrierContract(
  'the carrier in this process',
  () => async (attempt) => new InProcessCarrier(attempt, systemClock),
);
