// Makes a picture with the client of @hey-api/openapi-ts.

import { writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { gen2Pro, getResult } from "./generated";
import { client } from "./generated/client.gen";

const MAX_POLLS = 100;

async function main() {
    client.setConfig({
        baseUrl: process.env.IMAGEKILN_BASE_URL,
        auth: process.env.IMAGEKILN_API_KEY,
        throwOnError: true,
    });
    const { data: task } = await gen2Pro<true>({
        body: { prompt: "a red fox in the snow", width: 256, height: 256, seed: 7 },
    });
    for (let polls = 1; polls <= MAX_POLLS; polls++) {
        const { data: poll } = await getResult<true>({ query: { id: task.id } });
        if (poll.status === "Ready" && poll.result?.sample) {
            const picture = await fetch(poll.result.sample);
            await writeFile(process.argv[2], Buffer.from(await picture.arrayBuffer()));
            console.log(polls);
            return;
        }
        await setTimeout(100);
    }
    throw new Error(`the task ${task.id} was not ready after ${MAX_POLLS} polls`);
}

main();
