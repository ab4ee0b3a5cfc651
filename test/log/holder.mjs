// Holds the data directory of its first argument until it is killed.
import { lockDataDir } from '../../dist/log/data-dir-lock.js';

await lockDataDir(process.argv[2]);
process.stdout.write('locked\n');
setInterval(() => undefined, 1_000);
