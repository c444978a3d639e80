import { blocksContract } from '../ledger/contract/blocks.ts';
import { postgresStore } from './postgres-store.ts';

// A new schema for each store takes a while, so that few histories are tried.
blocksContract(postgresStore, 3);
