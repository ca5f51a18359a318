// Makes a picture with the client of swagger-typescript-api.

import { writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { Api } from "./generated/Api";

const MAX_POLLS = 100;

async function main() {
    const { v1: service } = new Api({
        baseUrl: process.env.IMAGEKILN_BASE_URL,
        baseApiParams: { headers: { "x-key": process.env.IMAGEKILN_API_KEY ?? "" } },
    });
    const { data: task } = await service.gen2Pro({
        prompt: "a red fox in the snow",
        width: 256,
        height: 256,
        seed: 7,
    });
    for (let polls = 1; polls <= MAX_POLLS; polls++) {
        const { data: poll } = await service.getResult({ id: task.id });
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
