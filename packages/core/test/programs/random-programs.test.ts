// Random programs on random plans: the cache on the reference backend against a model that keeps plain arrays.
import { referenceBackend } from '../../src/index.js';
import { describePrograms } from '../../src/programs/index.js';

describePrograms(referenceBackend(), { seconds: 4, minimum: 20 });
