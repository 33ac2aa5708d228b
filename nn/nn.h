// All modules. The examples include this; inside the engine, include what you use.
//
//   nn::Initializer init{.seed = 1};
//   nn::TransformerBlock block(128, init, {.heads = 4, .causal = true});
#pragma once

#include "nn/attention.h"
#include "nn/checkpointed.h"
#include "nn/conv.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/init.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/module.h"
#include "nn/norm.h"
#include "nn/quantised/quantised_linear.h"
#include "nn/sequential.h"
#include "nn/transformer.h"
