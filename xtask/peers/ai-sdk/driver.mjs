// Makes pictures with the AI SDK's provider for the service.

import { writeFile } from "node:fs/promises";
import { createBlackForestLabs } from "@ai-sdk/black-forest-labs";
import { generateImage } from "ai";

const { AT_ONCE, IMAGEKILN_API_KEY, IMAGEKILN_BASE_URL, IMAGEKILN_MODEL_PREFIX, PICTURES } =
    process.env;
const provider = createBlackForestLabs({
    apiKey: IMAGEKILN_API_KEY,
    baseURL: `${IMAGEKILN_BASE_URL}/v1`,
});
const model = provider.image(`${IMAGEKILN_MODEL_PREFIX}-dev`);

globalThis.AI_SDK_LOG_WARNINGS = false;

async function make(number) {
    const { image } = await generateImage({
        model,
        prompt: "a red fox in the snow",
        seed: number,
        providerOptions: { blackForestLabs: { width: 256, height: 256 } },
    });
    await writeFile(`pictures/${number}.jpg`, image.uint8Array);
}

let next = 0;
async function worker() {
    while (next < Number(PICTURES)) await make(next++);
}
await Promise.all(Array.from({ length: Number(AT_ONCE) }, worker));
