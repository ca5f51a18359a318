// Makes a picture with the client of orval.

import { writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { gen2Pro, getResult } from "./generated";

const MAX_POLLS = 100;

async function main() {
    const options = { headers: { "x-key": process.env.IMAGEKILN_API_KEY ?? "" } };
    const request = { prompt: "a red fox in the snow", width: 256, height: 256, seed: 7 };
    const submission = await gen2Pro(request, options);
    if (submission.status !== 200) {
        throw new Error(`the submission failed with status code ${submission.status}`);
    }
    const { id } = submission.data;
    for (let polls = 1; polls <= MAX_POLLS; polls++) {
        const { data: poll, status } = await getResult({ id }, options);
        if (status !== 200) throw new Error(`the poll failed with status code ${status}`);
        if (poll.status === "Ready" && poll.result?.sample) {
            const picture = await fetch(poll.result.sample);
            await writeFile(process.argv[2], Buffer.from(await picture.arrayBuffer()));
            console.log(polls);
            return;
        }
        await setTimeout(100);
    }
    throw new Error(`the task ${id} was not ready after ${MAX_POLLS} polls`);
}

main();
