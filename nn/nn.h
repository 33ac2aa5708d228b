// All modules. The examples include this; inside the engine, include what you use.
//
//   nn::Build build{.seed = 1};
//   nn::TransformerBlock block(128, build, {.heads = 4, .causal = true});
#pragma once

#include "nn/attention.h"
#include "nn/checkpointed.h"
#include "nn/conv.h"
#include "nn/conv1d.h"
#include "nn/conv_transpose2d.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/init.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/module.h"
#include "nn/norm.h"
#include "nn/sequential.h"
#include "nn/transformer.h"
