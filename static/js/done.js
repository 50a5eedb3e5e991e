// A submitted batch needs nothing on this device any more.

import { forgetBatches } from "./offline.js";
import { forgetStored } from "./saver.js";

forgetStored();
forgetBatches();
