"""Conversations by published templates, rendered by transformers, for chat_test.cpp.

    chat_templates.py FOLDER CHAT.JSONL    for each template FOLDER/NAME/tokenizer_config.json and
                                           FOLDER/NAME/texts, the conversations' texts with a NUL
                                           behind each
"""
import json
import os
import sys

from transformers.utils.chat_template_utils import render_jinja_template

LOOP = ("{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def with_default(system):
    return ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
            "{{ '<|im_start|>system\n" + system + "<|im_end|>\n' }}{% endif %}" + LOOP)


TEMPLATES = {
    "chatml": "{% for message in messages %}" + LOOP,
    "qwen2": with_default("You are a helpful assistant."),
    "smollm2": with_default("You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
    "llama3": (
        "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = "
        "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | "
        "trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
        "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ "
        "'<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"),
    "zephyr": (
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + "
        "message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ "
        "'<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant'"
        " %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if "
        "loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"),
}


BOS, EOS = "<|start|>", "<|endoftext|>"


def main(folder, chat):
    with open(chat, encoding="utf-8") as file:
        conversations = [json.loads(line)["messages"] for line in file]
    for name, template in TEMPLATES.items():
        os.makedirs(f"{folder}/{name}")
        with open(f"{folder}/{name}/tokenizer_config.json", "w", encoding="utf-8") as file:
            # As it lies in such files: a line end in a text is written \n there too.
            json.dump({"chat_template": template, "bos_token": BOS,
                       "eos_token": {"content": EOS, "lstrip": False}}, file)
        texts, _ = render_jinja_template(conversations=conversations, chat_template=template,
                                         bos_token=BOS, eos_token=EOS)
        with open(f"{folder}/{name}/texts", "w", encoding="utf-8", newline="") as file:
            file.write("".join(text + "\0" for text in texts))


main(*sys.argv[1:])
